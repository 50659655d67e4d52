/** Why somebody is at the log-in page who was logged in a moment ago. */
import { useEffect, useState } from "react";

const PLACE = "mayavi.login-message";

/** Leave a message for the log-in page that comes next. */
export function leaveMessage(text: string): void {
  try {
    sessionStorage.setItem(PLACE, text);
  } catch {
    // storage is off: the log-in page comes without the message
  }
}

export function LoginMessage() {
  const [text] = useState(() => {
    try {
      return sessionStorage.getItem(PLACE);
    } catch {
      return null;
    }
  });
  useEffect(() => sessionStorage.removeItem(PLACE), []);
  if (!text) return null;
  return (
    <p className="box warn" role="status" data-testid="login-message">
      {text}
    </p>
  );
}
