# The service, with the starter: docker build -t sgtb . && docker run -p 8080:8080 sgtb
# One's own:  docker run -p 8080:8080 -v "$PWD/news-linker:/model:ro" sgtb --model /model
FROM python:3.12 AS build
WORKDIR /src
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/sgtb && /opt/sgtb/bin/pip install --no-cache-dir '.[serve,nif]'

FROM python:3.12-slim
COPY --from=build /opt/sgtb /opt/sgtb
ENV PATH=/opt/sgtb/bin:$PATH
RUN useradd --system --uid 10001 --no-create-home sgtb
USER 10001
# An image that cannot link is not built.
RUN ["sgtb", "link", "--quiet", "--reasons", "Jordan passed, and the Bulls beat Utah."]
EXPOSE 8080
HEALTHCHECK --start-period=20s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/readyz', timeout=5)"]
ENTRYPOINT ["sgtb", "serve", "--host", "0.0.0.0"]
