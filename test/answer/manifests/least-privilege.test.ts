/**
 * Least privilege, recorded: given all shipped permissions, Lifeboat does each of its deeds; it is refused nothing, and has then used every
 * permission that it was given. The relay's permissions: test/answer/relay/permissions.test.ts; the server's: keeper.test.ts.
 */
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configureLifeboat } from "../../../infra/lab/stage/apply.ts";
import { openDoors } from "../../support/doors.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";
import { DEEDS } from "../../support/manifests/deeds.ts";
import { NEEDS, RELAYS_NEEDS, SERVERS_NEEDS } from "../../support/manifests/least-privilege.ts";
import {
  atoms,
  granted,
  nameOf,
  permissions,
  readManifests,
  type Rule,
  TOKEN,
} from "../../support/manifests/shipped.ts";
import { tidy } from "../../support/manifests/situations.ts";
import type { Steps, Trial } from "../../support/manifests/trial.ts";

const infra = fileURLToPath(new URL("../../../infra/", import.meta.url));
const rolesOf = (file: string) => granted(readManifests(`../${file}`));

const FILES = globSync("{kubernetes,relay/kubernetes,server/kubernetes}/**/*.yaml", { cwd: infra })
  .filter((file) => !file.endsWith("kustomization.yaml") && !file.endsWith(TOKEN))
  .filter((file) => rolesOf(file).length > 0)
  .toSorted();

const ALL = [...NEEDS, ...RELAYS_NEEDS, ...SERVERS_NEEDS];

test("every file that grants Lifeboat something is in the table", () => {
  expect([...new Set(ALL.map(({ file }) => file))].toSorted()).toEqual(FILES);
});

test.each(FILES)("%s: every permission has its row in the table, and every row its permission", (file) => {
  const rows = new Set(ALL.filter((need) => need.file === file).map(({ permission }) => permission));
  expect([...rows].toSorted()).toEqual(rolesOf(file).flatMap(permissions).toSorted());
});

const OPTIONAL = ["descheduler-support", "descheduling", "guard", "maintenance", "shield"].map(
  (name) => `optional/${name}/${name}.yaml`,
);
const used: Used[] = [];
let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster(OPTIONAL);
});
afterAll(() => cluster.stop());

test.each(Object.entries<Steps>(DEEDS))(
  "given every permission, when Lifeboat does this, nothing is refused: %s",
  async (_, { configuration, given, done, meanwhile }) => {
    if (configuration !== undefined) await configureLifeboat(cluster.client, configuration);
    const open = (): Trial => {
      const doors = openDoors({ CLUSTERS: { prod: cluster.entry } }, (request, { body }) => {
        used.push(usedBy(request));
        return meanwhile?.({ cluster, doors }, request, typeof body === "string" ? JSON.parse(body) : undefined);
      });
      // The API server goes by the real time, which Lifeboat compares with its own.
      doors.pass((Date.now() - doors.now().getTime()) / 1000 + 60);
      return { cluster, doors };
    };
    await given?.(open());
    const trial = open();
    await done(trial);
    await tidy(cluster);
    expect(trial.doors.forbidden).toEqual([]);
  },
);

test("no permission is granted that none of this uses", () => {
  const rules = ["rbac.yaml", ...OPTIONAL].flatMap((file) => granted(readManifests(file)).flatMap(atoms));
  expect(rules.filter((rule) => !used.some((one) => isBy(one, rule))).map(nameOf)).toEqual([]);
});

interface Used {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
}

const VERBS: Readonly<Record<string, string>> = { POST: "create", PATCH: "patch", PUT: "update", DELETE: "delete" };

/** The permission that a request needs, as RBAC names it. */
function usedBy(request: string): Used {
  const [method = "", path = ""] = request.split(" ");
  const [, group = "", rest = ""] =
    /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/(?=.))?(.*)$/.exec(path) ?? [];
  const [resource = "", name = "", ...within] = rest.split("/");
  const verb = VERBS[method] ?? (name === "" ? "list" : "get");
  return { verb, group, resource: [resource, ...within].join("/"), name };
}

/** Of `evacuate/cancel` the API server asks for `evacuate` as well. */
function isBy({ verb, group, resource, name }: Used, { verbs, apiGroups, resources, resourceNames }: Rule): boolean {
  const isOfResource = resources.some((one) => resource === one || resource.startsWith(`${one}/c`));
  const isNamed = resourceNames === undefined || resourceNames.includes(name);
  return isNamed && isOfResource && verbs.includes(verb) && apiGroups.includes(group);
}
