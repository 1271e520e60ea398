/** What kubectl drain says. A denial by a webhook is told in the webhook's own words. */
import { expect, test } from "vitest";
import { parseDrainLine, refusedLine } from "../../infra/demo/drain-output.ts";

const POD = "shop/virt-launcher-db-x2k4f";
const BUDGET = "Cannot evict pod as it would violate the pod's disruption budget.";
const WEBHOOK =
  'error when evicting pods/"virt-launcher-db-x2k4f" -n "shop" (will retry after 5s): ' +
  'admission webhook "evictions.lifeboat.dev" denied the request: Eviction triggered evacuation of VMI "shop/db"';

// prettier-ignore
test.each([
  [`evicting pod ${POD}`,                                        { says: "Evicting", pod: POD }],
  ["pod/virt-launcher-db-x2k4f evicted",                         { says: "Evicted", pod: "virt-launcher-db-x2k4f" }],
  ["Warning: ignoring DaemonSet-managed Pods: a/b",              { says: "Warning", message: "ignoring DaemonSet-managed Pods: a/b" }],
  [WEBHOOK,                                                      { says: "Refused", pod: POD, message: 'Eviction triggered evacuation of VMI "shop/db"' }],
  [refusedLine({ namespace: "shop", name: "p" }, BUDGET),        { says: "Refused", pod: "shop/p", message: BUDGET }],
  ["node/node-1 drained",                                        { says: "Other", message: "node/node-1 drained" }],
  ["",                                                           { says: "Other", message: "" }],
])("%j", (line, expected) => expect(parseDrainLine(line)).toEqual(expected));
