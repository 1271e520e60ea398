/**
 * Tests how a descheduling cycle interprets the answer to an eviction. The answer comes from Lifeboat, from KubeVirt's
 * webhook, or from the API server.
 */
import { expect, test } from "vitest";
import { undecidedMessage } from "../../../../shared/settings/failure-posture.ts";
import { interpretAnswer } from "../../../../shared/descheduling/cycle/request.ts";
import { MESSAGE } from "../../../../shared/eviction/messages.ts";
import { vmi } from "../../../support/fixtures.ts";

const LIFEBOAT = 'admission webhook "evictions.lifeboat.dev" denied the request: ';
const OTHER = 'admission webhook "mover.example.com" denied the request: ';
const KUBEVIRT = 'admission webhook "virt-launcher-eviction-interceptor.kubevirt.io" denied the request: ';

// prettier-ignore
const rows: readonly (readonly [code: number, message: string, outcome: string, prefixes?: readonly string[]])[] = [
  [201, "",                                                                                                   "Evicted"],
  [404, 'pods "p1" not found',                                                                                "Gone"],
  [429, `${LIFEBOAT}${MESSAGE.EvacuationTriggered(vmi())}`,                                                   "Background"],
  [429, `${LIFEBOAT}${MESSAGE.EvacuationInProgress(vmi())}`,                                                  "Background"],
  [429, `${KUBEVIRT}Eviction triggered evacuation of VMI "ns/vm"`,                                            "Background"],
  [429, `${KUBEVIRT}Eviction request for target Pod`,                                                         "Refused"],
  [429, `${LIFEBOAT}${MESSAGE.NotMigratable(vmi(), "LiveMigrate")}`,                                          "Refused"],
  [429, `${LIFEBOAT}${undecidedMessage("eviction", 'pod "ns/p"', "the API server cannot be reached")}`,            "Unknown"],
  [429, "Cannot evict pod as it would violate the pod's disruption budget.",                                  "Refused"],
  [429, `${LIFEBOAT}no: Eviction triggered evacuation of VMI "ns/vm"`,                                        "Refused"],
  // The policy has other prefixes, or the pod lacks the annotation for eviction in background.
  [429, `${OTHER}Moved later`,                                                                                "Background", ["Eviction triggered", "Moved"]],
  [429, `${OTHER}Moved later`,                                                                                "Refused"],
  [429, "Moved later",                                                                                        "Background", ["Moved"]],
  [429, `${KUBEVIRT}Eviction triggered evacuation of VMI "ns/vm"`,                                            "Refused",    ["Moved"]],
  [429, `${KUBEVIRT}Eviction triggered evacuation of VMI "ns/vm"`,                                            "Refused",    []],
  [403, `${KUBEVIRT}Eviction triggered evacuation of VMI "ns/vm"`,                                            "Refused"],
  [500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",   "Refused"],
];

const DEFAULT = ["Eviction triggered"];
const cases = rows.map(([code, message, outcome, prefixes = DEFAULT]) => ({ code, message, outcome, prefixes }));

test.each(cases)(
  "the answer $code $message means $outcome with the prefixes $prefixes",
  ({ code, message, outcome, prefixes }) => {
    expect(interpretAnswer({ code, message }, prefixes)).toBe(outcome);
  },
);
