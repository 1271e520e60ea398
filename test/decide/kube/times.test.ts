/** Tests which times of Lifeboat's objects are read. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { NodeEvacuation } from "../../../shared/kube/schemas/maintenance.ts";
import { secondsAfter } from "../../../shared/settings/time.ts";

const metadata = { name: "kernel", uid: "1", resourceVersion: "1" };

// prettier-ignore
test.each([
  // spec.schedule.notBefore          is read
  [undefined,                         true ],
  ["",                                true ],
  ["2026-11-20T12:00:00Z",            true ],
  ["2026-11-20t12:00:00z",            true ],
  ["2026-11-20T12:00:00.123456789Z",  true ],
  ["2026-11-20T12:00:00+02:00",       true ],
  ["9999-12-31T23:59:59Z",            true ],
  ["2026-11-20T12:00:00+99:00",       false],
  ["2026-11-20T12:00:00,5Z",          false],
  ["+275760-09-13T00:00:00Z",         false],
  ["tomorrow",                        false],
  [1_795_176_000,                     false],
])("a NodeEvacuation with notBefore %j is read: %s", (notBefore, isRead) => {
  const read = z.safeParse(NodeEvacuation, { metadata, spec: { nodeName: "node01", schedule: { notBefore } } });
  expect(read.success).toBe(isRead);
  if (read.success) expect(read.data.spec.schedule.notBefore).toBe(notBefore || undefined);
  else expect(read.error.issues).toMatchObject([{ path: ["spec", "schedule", "notBefore"], message: "expected a time" }]);
});

// prettier-ignore
test.each([
  [60,      "2026-11-20T12:01:00.000Z"],
  [1e12,    "9999-12-31T23:59:59.000Z"],
  [Infinity,"9999-12-31T23:59:59.000Z"],
])("the time %d s after noon is %s", (seconds, time) => {
  expect(secondsAfter(new Date("2026-11-20T12:00:00Z"), seconds)).toBe(time);
});
