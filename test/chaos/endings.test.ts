/** How an evacuation ended, as its record tells. */
import { expect, test } from "vitest";
import { createEndings } from "../../infra/chaos/endings.ts";
import type { VirtualMachineInstance } from "../../infra/sandbox/kubevirt/resources.ts";
import { vmi } from "./objects.ts";

const record = { id: "e1", node: "node-1" };
const under = vmi({ record });

// prettier-ignore
const rows: readonly (readonly [string, VirtualMachineInstance | undefined, string | undefined])[] = [
  ["goes on",                       vmi({ record: { ...record, attempts: 1 } }),                            undefined],
  ["has moved",                     vmi({ status: { nodeName: "node-2" } }),                                "Moved"],
  ["has moved, and leaves again",   vmi({ status: { nodeName: "node-2" }, record: { id: "e2", node: "node-2" } }), "Moved"],
  ["is abandoned",                  vmi({ record: { ...record, outcome: "Abandoned" } }),                   "Abandoned"],
  ["is cancelled",                  vmi({ record: { ...record, outcome: "Cancelled" } }),                   "Cancelled"],
  ["has begun anew where it was",   vmi({ record: { id: "e2", node: "node-1" } }),                          "Withdrawn"],
  ["is no more",                    undefined,                                                              "VM deleted"],
];
test.each(rows)("a VM that %s", (_, now, ending) => {
  const endings = createEndings();
  endings.vmiChanged(under, undefined);
  endings.vmiChanged(now, under);
  expect(endings.all.get("e1")).toBe(ending);
  expect([...endings.abandoned]).toEqual(ending === "Abandoned" ? ["uid-web"] : []);
});

test("what has ended stays ended, whatever becomes of the record", () => {
  const endings = createEndings();
  const abandoned = vmi({ record: { ...record, outcome: "Abandoned" } });
  endings.vmiChanged(abandoned, under);
  endings.vmiChanged(vmi(), abandoned);
  expect([...endings.all]).toEqual([["e1", "Abandoned"]]);
});
