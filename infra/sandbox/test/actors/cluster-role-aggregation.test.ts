/** Tests that a ClusterRole with an aggregationRule gets the rules of other ClusterRoles. */
import { expect, test } from "vitest";
import { clusterRoles, configMaps, namespaces } from "../../actors/resources.ts";
import { useSandbox } from "../with-sandbox.ts";

const world = useSandbox({ empty: true });
const LABEL = "rbac.authorization.k8s.io/aggregate-to-view";
const widgets = (verb: string) => ({ apiGroups: ["example.com"], resources: ["widgets"], verbs: [verb] });

const role = (name: string, rules: object[], labels = {}) =>
  world.sandbox.client.create(clusterRoles, { metadata: { name, labels }, rules: rules as never });
const rulesOf = async (name: string) => (await world.sandbox.client.get(clusterRoles, { name }))?.rules ?? [];
const until = (name: string, done: (rules: readonly object[]) => boolean) =>
  world.until(clusterRoles, { name }, ({ rules }) => done(rules ?? []));
const has = (rule: object) => (rules: readonly object[]) =>
  rules.some((one) => JSON.stringify(one) === JSON.stringify(rule));

const matching = (part: string) => ({ matchLabels: { part } });

test("the view, edit and admin roles are aggregated from the start, and edit and admin include view", async () => {
  const view = await until("view", (rules) => rules.length > 0);
  for (const name of ["edit", "admin"])
    await until(name, (rules) => (view.rules ?? []).every((rule) => has(rule)(rules)));
});

test("a role with the label for view is aggregated into view, edit and admin, until its label is removed", async () => {
  const rule = widgets("get");
  await role("widgets-view", [rule, rule], { [LABEL]: "true" });
  for (const name of ["view", "edit", "admin"]) await until(name, has(rule));
  expect((await rulesOf("view")).filter((one) => has(rule)([one]))).toHaveLength(1);
  await world.sandbox.client.patch(
    clusterRoles,
    { name: "widgets-view" },
    { type: "merge", body: { rules: [widgets("list")] } },
  );
  await until("view", has(widgets("list")));
  await world.sandbox.client.patch(
    clusterRoles,
    { name: "widgets-view" },
    { type: "merge", body: { metadata: { labels: null } } },
  );
  await until("view", (rules) => !has(widgets("list"))(rules));
});

test("a role may have several selectors, and does not aggregate itself", async () => {
  const labels = { mine: "yes" };
  await role("part-a", [widgets("get")], { part: "a" });
  await role("part-b", [widgets("watch")], { part: "b" });
  const selectors = [matching("b"), matching("a"), { matchLabels: labels }];
  await world.sandbox.client.create(clusterRoles, {
    metadata: { name: "whole", labels },
    aggregationRule: { clusterRoleSelectors: selectors },
  });
  const whole = await until("whole", (rules) => rules.length === 2);
  expect(whole.rules).toEqual([widgets("watch"), widgets("get")]);
});

test("a user with the view role gets the permissions that another role adds to the view role", async () => {
  const { client } = world.sandbox;
  await client.create(namespaces, { metadata: { name: "viewed" } });
  await client.create(configMaps, { metadata: { name: "c", namespace: "viewed" } });
  const RBAC = "rbac.authorization.k8s.io";
  await client.raw({
    method: "POST",
    path: `/apis/${RBAC}/v1/namespaces/viewed/rolebindings`,
    body: {
      metadata: { name: "viewer" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "User", name: "viewer" }],
    },
  });
  const codeOf = async (method: "GET" | "DELETE", path: string) =>
    (await client.as("viewer").raw({ method, path: `/api/v1/namespaces/viewed/${path}` })).code;
  expect(await codeOf("GET", "configmaps/c")).toBe(200);
  expect(await codeOf("DELETE", "configmaps/c")).toBe(403);
  expect(await codeOf("GET", "secrets")).toBe(403);
  await role("secrets-view", [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }], { [LABEL]: "true" });
  await until("view", has({ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }));
  expect(await codeOf("GET", "secrets")).toBe(200);
});
