/** Tests the advice of `lifeboat install` about schedulers that the guard does not know. */
import { expect, test } from "vitest";
import { adviseOnSchedulers } from "../../../infra/cli/install/schedulers.ts";

function bindings(subjects: readonly object[], own: readonly object[] = []) {
  const other = { roleRef: { name: "view" }, subjects: [{ kind: "User", name: "jane" }] };
  return {
    items: [
      other,
      { roleRef: { name: "system:kube-scheduler" }, subjects },
      { roleRef: { name: "none" }, subjects: own },
    ],
  };
}

const roles = {
  items: [
    { metadata: { name: "edit" }, rules: [{ verbs: ["create", "delete"], resources: ["pods", "services"] }] },
    { metadata: { name: "cluster-admin" }, rules: [{ verbs: ["*"], resources: ["*"] }] },
    {
      metadata: { name: "none" },
      rules: [
        { verbs: ["create"], resources: ["bindings", "pods/binding"] },
        { verbs: ["get", "delete"], resources: ["pods"] },
      ],
    },
  ],
};
const USER = { kind: "User", name: "system:kube-scheduler" };
const SECOND = { kind: "ServiceAccount", namespace: "batch", name: "volcano" };

// prettier-ignore
test.each([
  ["the scheduler of Kubernetes", bindings([USER]),                                        undefined],
  ["a second scheduler with the same role", bindings([USER, SECOND]),                                "preemptions by system:serviceaccount:batch:volcano"],
  ["a second scheduler with its own role", bindings([USER], [SECOND]),                              "preemptions by system:serviceaccount:batch:volcano"],
  ["a group of schedulers", bindings([{ kind: "Group", name: "schedulers" }]),       undefined],
  ["bindings that may not be read", { kind: "Status", message: "forbidden" },         "could not be read"],
])("given %s, the advice names each scheduler that the guard does not know", async (_, body, said) => {
  const advice = await adviseOnSchedulers(async ({ path }) => await Promise.resolve({ code: 200, body: path.endsWith("roles") ? roles : body, bytes: 0 }), ["system:kube-scheduler"]);
  expect(advice).toEqual(said === undefined ? "" : expect.stringContaining(said));
  if (said?.startsWith("preemptions") === true) expect(advice).toContain('"requesters":["system:kube-scheduler","system:serviceaccount:batch:volcano"]');
});
