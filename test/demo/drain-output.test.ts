/** What kubectl drain says. */
import { describe, expect, test } from "vitest";
import { parseDrainLine, refusedLine } from "../../infra/demo/drain-output.ts";

const REFUSAL =
  'error when evicting pods/"virt-launcher-db-x2k4f" -n "shop" (will retry after 5s): ' +
  'admission webhook "evictions.lifeboat.dev" denied the request: Eviction triggered evacuation of VMI "shop/db"';

describe("lines of kubectl drain", () => {
  test.each([
    ["evicting pod shop/virt-launcher-db-x2k4f", { says: "Evicting", pod: "shop/virt-launcher-db-x2k4f" }],
    ["pod/virt-launcher-db-x2k4f evicted", { says: "Evicted", pod: "virt-launcher-db-x2k4f" }],
    [
      "Warning: ignoring DaemonSet-managed Pods: a/b",
      { says: "Warning", message: "ignoring DaemonSet-managed Pods: a/b" },
    ],
    ["node/node-1 drained", { says: "Other", message: "node/node-1 drained" }],
    ["", { says: "Other", message: "" }],
  ])("%j", (line, expected) => expect(parseDrainLine(line)).toEqual(expected));

  test("a denial by a webhook is shown in the webhook's own words", () => {
    expect(parseDrainLine(REFUSAL)).toEqual({
      says: "Refused",
      pod: "shop/virt-launcher-db-x2k4f",
      message: 'Eviction triggered evacuation of VMI "shop/db"',
    });
  });

  test("a denial by the budget is shown as it is", () => {
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    expect(parseDrainLine(refusedLine({ namespace: "shop", name: "p" }, message))).toEqual({
      says: "Refused",
      pod: "shop/p",
      message,
    });
  });
});
