/** Renders the table of optional features, for administrators. */
import { FEATURES } from "../../../shared/features.ts";
import type { Feature } from "../../../shared/settings/feature.ts";
import { code, renderTable } from "./policy/tables.ts";

export function featureTable(): string {
  const rows = FEATURES.map(({ name, about, gates }: Feature) => [
    code(name),
    about,
    gates.map(code).join(", ") || "–",
  ]);
  return renderTable([["feature", "does", "feature gates"], ...rows]);
}
