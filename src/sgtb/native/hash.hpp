// The hash of a string, byte by byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace sgtb {

class Hash {
public:
    Hash& add(uint8_t byte) {
        state_ = (state_ ^ byte) * 0x100000001B3;
        return *this;
    }
    Hash& add(std::string_view text) {
        for (const char byte : text) add(static_cast<uint8_t>(byte));
        return *this;
    }
    uint64_t value() const {
        const uint64_t mixed = (state_ ^ (state_ >> 33)) * 0xFF51AFD7ED558CCD;
        return mixed ^ (mixed >> 33);
    }

private:
    uint64_t state_ = 0xCBF29CE484222325;
};

}  // namespace sgtb
