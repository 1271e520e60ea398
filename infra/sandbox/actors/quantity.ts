/** Kubernetes' quantities (`100m`, `1.5Gi`, `1e3`) as numbers. */
/** The suffixes of quantities, in ascending order. Each suffix is 1000 (or 1024) times larger than the previous one. */
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function factorOf(suffix: string): number {
  return BINARY.includes(suffix) ? 1024 ** BINARY.indexOf(suffix) : Number(`1e${3 * (DECIMAL.indexOf(suffix) - 3)}`);
}

export function parseQuantity(quantity: string | number): number {
  const { number, suffix = "" } =
    /^(?<number>[+-]?[\d.]+(?:[eE][+-]?\d+)?)(?<suffix>[numkMGTPE]|[KMGTPE]i)?$/.exec(String(quantity))?.groups ?? {};
  const value = Number(number);
  if (Number.isNaN(value)) throw new Error(`"${quantity}" is not a quantity`);
  return value * factorOf(suffix);
}

export function inKi(bytes: number): string {
  return `${Math.round(bytes / 1024)}Ki`;
}
