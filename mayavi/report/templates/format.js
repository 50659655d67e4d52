// Numbers in tables and sliders, written like those of `numbers.py`.
Report.format = (value, format) => {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  const minus = (text) => (value < 0 && /[1-9]/.test(text) ? `−${text}` : text);
  const amount = Math.abs(value);
  const digits = (number, least, most) => number.toLocaleString("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
  const wide = (number) => (number !== 0 && (number >= 1e15 || number < 1e-9) ? number.toPrecision(6) : number.toLocaleString("en-US", { maximumSignificantDigits: 9 }));
  const short = (number) => {
    if (number >= 1e15 || (number !== 0 && number < 1e-6)) return number.toExponential(2);
    for (const [scale, suffix] of [[1e12, " T"], [1e9, " B"], [1e6, " M"], [1e3, " k"]]) {
      if (number >= scale * 0.9995) return (number / scale).toLocaleString("en-US", { maximumSignificantDigits: 3 }) + suffix;
    }
    return number.toLocaleString("en-US", { maximumSignificantDigits: 3 });
  };
  switch (format) {
    case "usd": return minus(`$${short(amount)}`);
    case "exact_usd": return minus(`$${digits(amount, 2, 2)}`);
    case "percent": return `${minus(short(amount * 100))} %`;
    case "change": return `${value > 0 ? "+" : ""}${minus(short(amount * 100))} %`;
    case "exact_percent": return `${minus(digits(amount * 100, 0, 4))} %`;
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
