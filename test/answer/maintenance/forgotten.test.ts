/** NodeEvacuations of the command's are deleted some time after their end. */
import { expect, test } from "vitest";
import { openApp } from "../../support/app.ts";
import { time } from "../../support/fixtures.ts";
import { created } from "../../support/maintenance/kernel.ts";

const OWN = { "app.kubernetes.io/managed-by": "lifeboat" };

interface Row {
  readonly seconds?: number;
  readonly labels?: object;
  readonly next?: object;
}

// prettier-ignore
test.each<[string, Row, boolean]>([
  ["an hour ago is",                  {},                                       false],
  ["later is not",                    { seconds: 3590 },                        true],
  ["that was applied is not",         { labels: {} },                           true],
  ["that another one follows is not", { next: { schedule: { after: "bios" } } }, true],
])("one that ended %s", async (_, { seconds = 3600, labels = OWN, next }, stays) => {
  const fake = created({ ...next, progress: "Paused" });
  const metadata = { name: "bios", uid: "uid-of-bios", resourceVersion: "1", creationTimestamp: "2026-03-01T09:00:00Z" };
  const status = { phase: "Withdrawn", completionTime: time(-seconds) };
  fake.api.put("nodeevacuations", { metadata: { ...metadata, labels: { ...labels } }, spec: { nodeName: "node02" }, status });
  await openApp(fake).reconcile();
  expect(fake.api.object("nodeevacuations", { name: "bios" }) !== undefined).toBe(stays);
});
