// Numbers in tables and sliders, written like those of `numbers.py`.
Report.format = (value, format) => {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  const minus = (text) => (value < 0 && /[1-9]/.test(text) ? `−${text}` : text);
  const amount = Math.abs(value);
  const digits = (number, least, most) => number.toLocaleString("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
  const wide = (number) => (number !== 0 && (number >= 1e15 || number < 1e-9) ? number.toPrecision(6) : number.toLocaleString("en-US", { maximumSignificantDigits: 9 }));
  const three = (number) => {
    const text = number.toLocaleString("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
    const exact = Math.abs(Number(text.replaceAll(",", "")) - number) <= 1e-12 * number;
    return exact ? number.toLocaleString("en-US", { maximumSignificantDigits: 3 }) : text;
  };
  const short = (number) => {
    if (number >= 1e15 || (number !== 0 && number < 1e-6)) return number.toExponential(2);
    for (const [scale, suffix] of [[1e12, "\u00a0T"], [1e9, "\u00a0B"], [1e6, "\u00a0M"], [1e3, "\u00a0k"]]) {
      if (number >= scale * 0.9995) return three(number / scale) + suffix;
    }
    return three(number);
  };
  const hundredths = (number) => (number >= 999.5 && number < 999500 ? digits(Number(number.toPrecision(3)), 0, 0) : short(number));
  switch (format) {
    case "usd": return minus(`$${short(amount)}`);
    case "exact_usd": return minus(`$${digits(amount, 2, 2)}`);
    case "percent": return `${minus(hundredths(amount * 100))}\u00a0%`;
    case "change": return `${value > 0 ? "+" : ""}${minus(hundredths(amount * 100))}\u00a0%`;
    case "exact_percent": return `${minus(digits(amount * 100, 0, 4))}\u00a0%`;
    case "count": return minus(amount >= 1e15 ? short(amount) : digits(amount, 0, Number.isInteger(value) || amount >= 1000 ? 0 : 1));
    case "short": return minus(short(amount));
    default: return minus(wide(amount));
  }
};
Report.utc = (seconds) => {
  const moment = new Date(seconds * 1000);
  return Number.isNaN(moment.getTime()) ? "–" : `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
};
Report.make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
Report.download = (name, content, type) => {
  const link = Report.make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
