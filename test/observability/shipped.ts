/** The shipped rules and dashboard, parsed, and when an alert fires. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import * as z from "zod/mini";
import { evaluate, keyOf, secondsOf } from "./promql.ts";
import type { Recording } from "./recording.ts";

const folder = fileURLToPath(new URL("../../infra/observability/", import.meta.url));

export function read(path: string): string {
  return readFileSync(`${folder}${path}`, "utf8");
}

const Alert = z.object({
  alert: z.string(),
  expr: z.string(),
  for: z.exactOptional(z.string()),
  labels: z.object({ severity: z.enum(["critical", "warning"]) }),
  annotations: z.object({ summary: z.string(), description: z.string(), runbook_url: z.string() }),
});
const Rules = z.object({ spec: z.object({ groups: z.array(z.object({ rules: z.array(Alert) })) }) });

export type Alert = z.infer<typeof Alert>;

export const ALERTS: readonly Alert[] = Rules.parse(load(read("prometheus-rule.yaml"))).spec.groups.flatMap(
  ({ rules }) => rules,
);

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

/** Title and expression; Grafana's variables are filled in. */
export const PANELS = Dashboard.parse(JSON.parse(read("dashboard.json"))).panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr.replaceAll("$__rate_interval", "5m")] as const),
);

export const runbooks = () => readdirSync(`${folder}runbooks`).map((file) => file.replace(/\.md$/, ""));

const EVALUATED_EVERY_SECONDS = 60;

/** The names of the alerts that fire at that time: with the same labels at every evaluation of their `for`. */
export function firing(recording: Recording, at: number): readonly string[] {
  return ALERTS.filter((alert) => isFiring(alert, recording, at)).map(({ alert }) => alert);
}

function isFiring({ expr, for: duration = "0s" }: Alert, recording: Recording, at: number): boolean {
  const keysAt = (time: number) => new Set(evaluate(expr, recording, time).map(({ labels }) => keyOf(labels)));
  let keys = [...keysAt(at)];
  for (let time = at - secondsOf(duration); time < at; time += EVALUATED_EVERY_SECONDS) {
    const then = keysAt(time);
    keys = keys.filter((key) => then.has(key));
  }
  return keys.length > 0;
}
