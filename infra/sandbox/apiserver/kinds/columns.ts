/** Table cells that several kinds have. */
import type { Column } from "./kind.ts";

export const NAME: Column = {
  name: "Name",
  type: "string",
  format: "name",
  cell: (object) => object.metadata.name ?? "",
};

export const AGE: Column = {
  name: "Age",
  type: "string",
  cell: (object, now) => ageOf(object.metadata.creationTimestamp, now),
};

const CREATED_AT: Column = {
  name: "Created At",
  type: "date",
  cell: (object) => object.metadata.creationTimestamp ?? "",
};

export const SHARED_COLUMNS: Readonly<Record<string, Column>> = Object.fromEntries(
  [NAME, AGE, CREATED_AT].map((column) => [column.name, column]),
);

export function ageOf(timestamp: unknown, now: Date): string {
  if (typeof timestamp !== "string" || timestamp === "") return "<unknown>";
  return humanDuration(now.getTime() - Date.parse(timestamp));
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

interface Scale {
  readonly below: number;
  readonly unit: number;
  readonly suffix: string;
  readonly rest?: { readonly unit: number; readonly suffix: string };
}

/**
 * The units of ages. An age has two to three significant figures, as in
 * k8s.io/apimachinery/pkg/util/duration.HumanDuration.
 */
const SCALES: readonly Scale[] = [
  { below: 2 * MINUTE, unit: SECOND, suffix: "s" },
  { below: 10 * MINUTE, unit: MINUTE, suffix: "m", rest: { unit: SECOND, suffix: "s" } },
  { below: 3 * HOUR, unit: MINUTE, suffix: "m" },
  { below: 8 * HOUR, unit: HOUR, suffix: "h", rest: { unit: MINUTE, suffix: "m" } },
  { below: 2 * DAY, unit: HOUR, suffix: "h" },
  { below: 8 * DAY, unit: DAY, suffix: "d", rest: { unit: HOUR, suffix: "h" } },
  { below: 2 * YEAR, unit: DAY, suffix: "d" },
  { below: 8 * YEAR, unit: YEAR, suffix: "y", rest: { unit: DAY, suffix: "d" } },
  { below: Number.POSITIVE_INFINITY, unit: YEAR, suffix: "y" },
];

function humanDuration(milliseconds: number): string {
  if (milliseconds < -2 * SECOND) return "<invalid>";
  const elapsed = Math.max(0, milliseconds);
  const scale = SCALES.find(({ below }) => elapsed < below);
  if (scale === undefined) return "<unknown>";
  const whole = Math.floor(elapsed / scale.unit);
  const rest = scale.rest && Math.floor((elapsed % scale.unit) / scale.rest.unit);
  return `${whole}${scale.suffix}${rest ? `${rest}${scale.rest?.suffix}` : ""}`;
}
