/** Numbers, times and names as readers see them, written like `mayavi/report/numbers.py`. */
export const DASH = "–";
const MINUS = "−";
const SPACE = "\u00a0";

function digits(number: number, least: number, most: number): string {
  return number.toLocaleString("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
}

function three(number: number): string {
  const text = number.toLocaleString("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
  const exact = Math.abs(Number(text.replaceAll(",", "")) - number) <= 1e-12 * number;
  return exact ? number.toLocaleString("en-US", { maximumSignificantDigits: 3 }) : text;
}

function short(number: number): string {
  if (number >= 1e15 || (number !== 0 && number < 1e-6)) return number.toExponential(2);
  const scales: [number, string][] = [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [scale, suffix] of scales) if (number >= scale * 0.9995) return three(number / scale) + SPACE + suffix;
  return three(number);
}

/** Percentages have no suffix for thousands: `1,360 %`. */
function hundredths(number: number): string {
  return number >= 999.5 && number < 999_500 ? digits(Number(number.toPrecision(3)), 0, 0) : short(number);
}

function wide(number: number): string {
  return number !== 0 && (number >= 1e15 || number < 1e-9)
    ? number.toPrecision(6)
    : number.toLocaleString("en-US", { maximumSignificantDigits: 9 });
}

/** Format a cell by the name of its column's format: `usd`, `percent`, `count` …; a dash for what does not exist. */
export function formatCell(value: string | number | boolean | null | undefined, format = ""): string {
  if (value === null || value === undefined || value === "") return DASH;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return DASH;
  const minus = (text: string) => (value < 0 && /[1-9]/.test(text) ? MINUS + text : text);
  const amount = Math.abs(value);
  switch (format) {
    case "usd":
      return minus(`$${short(amount)}`);
    case "exact_usd":
      return minus(`$${digits(amount, 2, 2)}`);
    case "percent":
      return `${minus(hundredths(amount * 100))}${SPACE}%`;
    case "change":
      return `${value > 0 ? "+" : ""}${minus(hundredths(amount * 100))}${SPACE}%`;
    case "exact_percent":
      return `${minus(digits(amount * 100, 0, 4))}${SPACE}%`;
    case "count":
      return minus(
        amount >= 1e15 ? short(amount) : digits(amount, 0, Number.isInteger(value) || amount >= 1000 ? 0 : 1),
      );
    case "short":
      return minus(short(amount));
    default:
      return minus(wide(amount));
  }
}

const NO_DEBT = 1e6;

/** Format a health factor to four decimals, rounded down: 0.99996 can be liquidated, and 1.0000 cannot. */
export function healthFactor(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  return value > NO_DEBT ? "no debt" : (Math.floor(value * 1e4 + 1e-9) / 1e4).toFixed(4);
}

/** Begin a text with a capital, and end it with a full stop. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:…]$/.test(begun) || begun === "" ? begun : `${begun}.`;
}

export function count(value: number | null | undefined): string {
  return formatCell(value, "count");
}

/** `1,234 runs`, `1 run`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Format a duration: `0.84 s`, `12.3 s`, `4 min 5 s`, `2 h 3 min`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return DASH;
  if (seconds < 60) return `${three(Math.max(seconds, 0))}${SPACE}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}${SPACE}min ${whole % 60}${SPACE}s`;
  return `${Math.floor(whole / 3600)}${SPACE}h ${Math.floor((whole % 3600) / 60)}${SPACE}min`;
}

/** Format a moment in UTC: `2026-11-17 04:31:07 UTC`. Numbers are seconds of the epoch. */
export function utc(moment: string | number | null | undefined): string {
  if (moment === null || moment === undefined || moment === "") return DASH;
  const date = new Date(typeof moment === "number" ? moment * 1000 : moment);
  return Number.isNaN(date.getTime()) ? DASH : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Format how long ago a moment is: `just now`, `5 min ago`, `3 h ago`, `12 d ago`. */
export function ago(moment: string | null | undefined, now = Date.now()): string {
  if (!moment) return DASH;
  const seconds = (now - new Date(moment).getTime()) / 1000;
  if (Number.isNaN(seconds)) return DASH;
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)}${SPACE}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}${SPACE}min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}${SPACE}h ago`;
  return `${Math.floor(seconds / 86_400)}${SPACE}d ago`;
}

/** Shorten an address or a digest: `0x8787…4E2f`. Other text stays as it is. */
export function shortened(text: string): string {
  if (/^0x[0-9a-fA-F]{16,}$/.test(text)) return `${text.slice(0, 6)}…${text.slice(-4)}`;
  return /^[0-9a-f]{24,}$/.test(text) ? `${text.slice(0, 8)}…` : text;
}
