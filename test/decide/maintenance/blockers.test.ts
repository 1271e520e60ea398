/** Tests the times in the list of blockers, and the length of the list. */
import { expect, test } from "vitest";
import { withTimes } from "../../../shared/maintenance/blockers.ts";
import { NOW, time } from "../../support/fixtures.ts";
import { started } from "../../support/maintenance/worlds.ts";

const listed = { namespace: "apps", name: "web", reason: "NotMigratable", message: "" };

// prettier-ignore
test.each([
  ["of the same VM with the same reason keeps its time", { ...listed, uid: "1" }, { ...listed, uid: "1" },                        -90],
  ["with another reason has a new time",                 { ...listed, uid: "1" }, { ...listed, uid: "1", reason: "BoundToNode" }, 0],
  ["of a recreated VM has a new time",                   { ...listed, uid: "1" }, { ...listed, uid: "2" },                        0],
  ["of another VM has a new time",                       { ...listed, uid: "1" }, { ...listed, uid: "2", name: "db" },            0],
  ["of another object without a UID has a new time",     listed,                  { ...listed, name: "db" },                      0],
] as const)("a blocker %s", (_, before, found, seconds) => {
  const ne = started({ status: { blockers: [{ ...before, since: time(-90) }] } });
  expect(withTimes([found], { ne, now: NOW })).toMatchObject([{ since: time(seconds) }]);
});

test("the list of blockers has the length that the API server accepts", () => {
  const found = Array.from({ length: 21 }, (_, i) => ({ ...listed, name: `vm-${i}`, message: "x".repeat(2000) }));
  const written = withTimes(found, { ne: started(), now: NOW });
  expect([written.length, written[0]?.message.length]).toEqual([20, 1024]);
});
