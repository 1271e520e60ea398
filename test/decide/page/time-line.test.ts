/** Tests the time line of a RollingMaintenance, which shows the planned and the actual time of each node. */
import { expect, test } from "vitest";
import type { NodeRow, RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { timeLineOf } from "../../../functions/page/time-line.ts";

const BEGAN = Date.parse("2026-12-05T22:00:00Z");
const at = (minutes: number) => new Date(BEGAN + minutes * 60_000).toISOString();
const row = (name: string, more: Partial<NodeRow> = {}): NodeRow => ({ name, phase: "Pending", ...more });

function weekend(
  nodes: readonly NodeRow[],
  {
    maxUnavailable = 1,
    ...status
  }: { readonly maxUnavailable?: number; readonly estimatedCompletionTime?: undefined } = {},
) {
  const facts: Pick<RollingMaintenanceFacts, "createdAt"> & { spec: object; status: object } = {
    createdAt: BEGAN,
    spec: { schedule: {}, maxUnavailable },
    status: { startTime: at(0), estimatedCompletionTime: at(60), nodes, ...status },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The time line reads no other field.
  return timeLineOf(facts as RollingMaintenanceFacts, new Date(at(30)));
}

const minutes = (span: { from: number; to: number } | undefined) =>
  span && [(span.from - BEGAN) / 60_000, (span.to - BEGAN) / 60_000];

// prettier-ignore
test.each([
  ["two nodes share the hour",           weekend([row("a"), row("b")]),                                                       [[0, 30], [30, 60]],        [undefined, undefined]],
  ["two nodes at a time share the hour", weekend([row("a"), row("b"), row("c")], { maxUnavailable: 2 }),                       [[0, 30], [0, 30], [30, 60]], [undefined, undefined, undefined]],
  ["a node in progress lasts until now", weekend([row("a", { startTime: at(5), completionTime: at(12) }), row("b", { startTime: at(14) })]), [[0, 30], [30, 60]], [[5, 12], [14, 30]]],
  ["without an end, nothing is planned", weekend([row("a", { startTime: at(5) })], { estimatedCompletionTime: undefined }),    [undefined],                [[5, 30]]],
])("%s", (_, { bars }, planned, actual) => {
  expect(bars.map((bar) => minutes(bar.planned))).toEqual(planned);
  expect(bars.map((bar) => minutes(bar.actual))).toEqual(actual);
});

test("all bars are within the span, even of nodes that took longer than planned", () => {
  const { bars, span } = weekend([row("a", { startTime: at(0), completionTime: at(90) })]);
  expect(minutes(span)).toEqual([0, 90]);
  for (const { planned, actual } of bars)
    for (const one of [planned, actual]) expect(one?.to).toBeLessThanOrEqual(span.to);
});
