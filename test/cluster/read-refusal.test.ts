/** The Events of refused shutdowns: which count, and what cannot be told from them. */
import { expect, test } from "vitest";
import { readRefusal } from "../../shared/cluster/read-refusal.ts";
import type { ApiRequest } from "../../shared/cluster/transport.ts";
import { at, time, vmi } from "../policy/fixtures.ts";

const OURS = "node hook PreVMStop from plugin lifeboat-shield failed: failed to dial plugin lifeboat-shield";
const told = (first?: string, last = first, message = OURS) => ({
  message,
  firstTimestamp: first,
  lastTimestamp: last,
});
const span = (first: number, last: number) => ({ first: at(first).getTime(), last: at(last).getTime() });

// prettier-ignore
test.each<[string, unknown, unknown]>([
  ["none",                          [],                                                         undefined      ],
  ["one",                           [told(time(-9))],                                           span(-9, -9)   ],
  ["one that was repeated",         [told(time(-9), time(-1))],                                 span(-9, -1)   ],
  ["several",                       [told(time(-9), time(-5)), told(time(-7), time(-2))],       span(-9, -2)   ],
  ["another plugin's",              [told(time(-9), time(-1), "plugin other failed")],          undefined      ],
  ["one of another failure",        [told(time(-9), time(-1), "connection refused")],           undefined      ],
  ["without a time",                [told()],                                                   "Unknown"      ],
  ["what is no Event, beside one",  [{ message: 7 }, told(time(-9))],                           span(-9, -9)   ],
])("%s", async (_, items, expected) => {
  const asked: ApiRequest[] = [];
  const send = (request: ApiRequest) => {
    asked.push(request);
    return Promise.resolve({ code: 200, body: { kind: "EventList", items }, bytes: 0 });
  };
  expect(await readRefusal(send, vmi({ uid: "u" }))).toEqual(expected);
  expect(asked).toMatchObject([
    { method: "GET", path: "/api/v1/namespaces/apps/events", query: { fieldSelector: "involvedObject.uid=u,reason=SyncFailed" } },
  ]);
});

test("what may not be read is unknown", async () => {
  expect(await readRefusal(() => Promise.resolve({ code: 403, body: {}, bytes: 0 }), vmi())).toBe("Unknown");
});
