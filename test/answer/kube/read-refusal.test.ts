/** Tests which Events about refused shutdowns Lifeboat uses, and how long the refusals have lasted. */
import { expect, test } from "vitest";
import { readRefusal } from "../../../shared/reconcile/shield.ts";
import { json, status } from "../../support/answers.ts";
import { at, time, vmi } from "../../support/fixtures.ts";
import { connectToOneVm } from "../../support/client.ts";

const OURS = "node hook PreVMStop from plugin lifeboat-shield failed: failed to dial plugin lifeboat-shield";
const reported = (first?: string, last = first, message = OURS) => ({
  message,
  firstTimestamp: first,
  lastTimestamp: last,
});
const span = (first: number, last: number) => ({ first: at(first).getTime(), last: at(last).getTime() });

// prettier-ignore
test.each<[string, unknown, unknown]>([
  ["no Event",                          [],                                                         undefined      ],
  ["one Event",                         [reported(time(-9))],                                           span(-9, -9)   ],
  ["one repeated Event",                [reported(time(-9), time(-1))],                                 span(-9, -1)   ],
  ["several Events",                    [reported(time(-9), time(-5)), reported(time(-7), time(-2))],       span(-9, -2)   ],
  ["another plugin's Event",            [reported(time(-9), time(-1), "plugin other failed")],          undefined      ],
  ["an Event of another failure",       [reported(time(-9), time(-1), "connection refused")],           undefined      ],
  ["an Event without a time",           [reported()],                                                   "Unknown"      ],
  ["a malformed item beside an Event",  [{ message: 7 }, reported(time(-9))],                           span(-9, -9)   ],
])("the span of refusals with %s", async (_, items, expected) => {
  const { cluster, requests } = connectToOneVm({ "list events": json({ kind: "EventList", items }) }, () => undefined);
  expect(await readRefusal(vmi({ uid: "u" }), cluster)).toEqual(expected);
  expect(requests.map(({ path, query }) => [path, query.get("fieldSelector")])).toEqual([
    ["/api/v1/namespaces/apps/events", "involvedObject.uid=u,reason=SyncFailed"],
  ]);
});

test("the span of refusals is unknown if Events may not be read", async () => {
  const { cluster } = connectToOneVm({ "list events": status(403, "Forbidden") });
  expect(await readRefusal(vmi(), cluster)).toBe("Unknown");
});
