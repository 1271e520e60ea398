/** Tests the text for the reason why a VM cannot migrate. Every message uses this text. */
import { expect, test } from "vitest";
import { pinnedBecause } from "../../../shared/eviction/messages.ts";
import { vmi } from "../../support/fixtures.ts";

const SHARED = "live migration requires that all PVCs must be shared (using ReadWriteMany access mode)";

// prettier-ignore
test.each<[reason: string | undefined, message: string | undefined, words: string]>([
  ["DisksNotLiveMigratable",     "cannot migrate VMI with non-shared HostDisk",                      "DisksNotLiveMigratable (non-shared HostDisk)"],
  ["DisksNotLiveMigratable",     `cannot migrate VMI: PVC root is not shared, ${SHARED}`,            "DisksNotLiveMigratable (PVC root is not shared)"],
  ["DisksNotLiveMigratable",     "another text",                                                     "DisksNotLiveMigratable"],
  ["DisksNotLiveMigratable",     undefined,                                                          "DisksNotLiveMigratable"],
  ["DisksNotLiveMigratable",     `cannot migrate VMI with ${"d".repeat(99)}`,                        `DisksNotLiveMigratable (${"d".repeat(80)})`],
  ["DisksNotLiveMigratable",     "it cannot migrate VMI with non-shared HostDisk",                   "DisksNotLiveMigratable"],
  ["InterfaceNotLiveMigratable", "cannot migrate VMI with an odd network",                           "InterfaceNotLiveMigratable"],
  ["InterfaceNotLiveMigratable", "cannot migrate VMI which does not use masquerade",                 "InterfaceNotLiveMigratable"],
  [undefined,                    undefined,                                                          "no LiveMigratable condition"],
])("the reason %s with the message %s is stated as %s", (reason, message, words) => {
  const liveMigratable = { migratable: false, ...(reason && { reason }), ...(message && { message }) };
  expect(pinnedBecause(vmi({ liveMigratable }))).toBe(words);
});
