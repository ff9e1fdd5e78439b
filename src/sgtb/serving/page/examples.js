// Example texts with ambiguous names.

export const EXAMPLES = [
  ["Jordan", "Jordan passed, Pippen scored, and the Bulls beat Utah again. In Amman the king of Jordan watched them on television; in Petra nobody did."],
  ["Juno", "Juno never let Jupiter out of her sight."],
  ["Panthers", "Newton and the Panthers were loud that night."],
  ["Washington", "Washington was splendid in Philadelphia, and the critics said so."],
  ["Armstrong", "Armstrong blew in New Orleans, and Ella sang. Aldrin waited for Armstrong to step on the Moon."],
  ["Paris", "Paris took Helen to Troy, and Homer tells the rest. In Paris the Louvre keeps what sculptors made of Venus."],
];
