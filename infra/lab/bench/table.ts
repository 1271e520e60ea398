/** The result as text. */
import { aligned, type Cells, widthsOf } from "../../tools/console/table.ts";
import { type Measurement, meetsTarget } from "./measurement.ts";
import type { Summary } from "./statistics.ts";

const HEAD = ["part", "what", "median", "min–max", "n", "against", "ratio", "min–max", "per 10×", "target", ""];
/** Columns of words; all others are of figures. */
const WORDS = new Set(["part", "what", "against", ""]);

export function renderMeasurements(measurements: readonly Measurement[]): string {
  return renderTable(HEAD, measurements.map(rowOf));
}

function rowOf(m: Measurement): Cells {
  const { part, what, unit, value, against, ratio, tenfold, target } = m;
  return [
    part,
    what,
    `${figure(value.median)} ${unit}`,
    range(value),
    String(value.samples),
    against === undefined ? "" : `${against.what}: ${figure(against.median)} ${unit}`,
    ratio === undefined ? "" : figure(ratio.median),
    ratio === undefined ? "" : range(ratio),
    tenfold === undefined ? "" : `× ${figure(tenfold)}`,
    target === undefined ? "" : `≤ ${figure(target)}`,
    verdict(m),
  ];
}

function verdict(m: Measurement): string {
  const met = meetsTarget(m);
  return met === undefined ? "" : met ? "met" : "MISSED";
}

const CHANGES = ["part", "what", "then", "now", "change"];

/** What was measured in both runs; the change is that of the ratio where both have one, else of the value. */
export function renderChanges(then: readonly Measurement[], now: readonly Measurement[]): string {
  const before = new Map(then.map((m) => [keyOf(m), m]));
  const rows = now.flatMap((m) => {
    const old = before.get(keyOf(m));
    return old === undefined ? [] : [changeOf(old, m)];
  });
  return rows.length === 0 ? "Nothing in this run was measured in that one." : renderTable(CHANGES, rows);
}

function keyOf({ part, what, unit }: Measurement): string {
  return `${part}/${what}/${unit}`;
}

function changeOf(old: Measurement, m: Measurement): Cells {
  const ratios = old.ratio && m.ratio;
  const [from, to] = ratios ? [old.ratio.median, m.ratio?.median ?? 0] : [old.value.median, m.value.median];
  const unit = ratios ? "×" : m.unit;
  return [m.part, m.what, `${figure(from)} ${unit}`, `${figure(to)} ${unit}`, percentage(from, to)];
}

function percentage(from: number, to: number): string {
  if (from === to) return "±0%";
  if (from === 0) return "";
  const percent = Math.round((to / from - 1) * 100);
  return percent === 0 ? "±0%" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)}%`;
}

/** Three significant digits, and all there are before the point. */
export function figure(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return String(Math.round(value));
  return value
    .toPrecision(3)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}

function range({ min, max, samples }: Summary): string {
  return samples > 1 ? `${figure(min)}–${figure(max)}` : "";
}

function renderTable(head: Cells, rows: readonly Cells[]): string {
  const rule = widthsOf([head, ...rows]).map((width) => "─".repeat(width));
  return aligned([head, rule, ...rows], { right: (column) => !WORDS.has(head[column] ?? "") }).join("\n");
}
