/**
 * Tests that the shipped permissions are exactly the permissions that Lifeboat needs, with and without
 * optional/restriction. test/answer/relay/permissions.test.ts tests the relay's permissions.
 * test/answer/server/keeper.test.ts tests the server's permissions.
 */
import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Platform } from "../../../functions/env.ts";
import { configureLifeboat } from "../../../infra/lab/stage/apply.ts";
import { reach } from "../../support/cluster/network.ts";
import { openApp } from "../../support/app.ts";
import { startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";
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

test("every file that grants Lifeboat a permission is in the table", () => {
  expect([...new Set(ALL.map(({ file }) => file))].toSorted()).toEqual(FILES);
});

test.each(FILES)("%s: its permissions are exactly those of the table", (file) => {
  const rows = new Set(ALL.filter((need) => need.file === file).map(({ permission }) => permission));
  expect([...rows].toSorted()).toEqual(rolesOf(file).flatMap(permissions).toSorted());
});

const OPTIONAL = ["descheduler-support", "descheduling", "guard", "maintenance", "restriction", "shield"].map(
  (name) => `optional/${name}/${name}.yaml`,
);
test("only Lifeboat's account has a permission", () => {
  const bindings = ["rbac.yaml", ...OPTIONAL].flatMap(readManifests).filter(({ kind }) => kind.endsWith("RoleBinding"));
  expect(bindings).not.toEqual([]);
  for (const { subjects } of bindings)
    expect(subjects).toEqual([{ kind: "ServiceAccount", name: "lifeboat", namespace: "lifeboat-system" }]);
});

const used: Used[] = [];
let cluster: SandboxCluster;
beforeAll(async () => {
  cluster = await startSandboxCluster(OPTIONAL);
});
afterAll(() => cluster.stop());

test.each(Object.entries<Steps>(DEEDS))(
  "with every permission, no request is refused: %s",
  async (_, { configuration, given, done, meanwhile }) => {
    if (configuration !== undefined) await configureLifeboat(cluster.client, configuration);
    const refused: string[] = [];
    const open = (): Trial => {
      const fetchNoting: Platform["fetch"] = async (url, init) => {
        const request = `${init.method} ${new URL(url).pathname}`;
        used.push(usedBy(request));
        await meanwhile?.({ cluster, app }, request, typeof init.body === "string" ? JSON.parse(init.body) : undefined);
        const answer = await reach(url, init);
        if (await isRefused(answer)) refused.push(request);
        return answer;
      };
      const app = openApp({ CLUSTERS: { prod: cluster.entry } }, undefined, { fetch: fetchNoting });
      // Lifeboat compares its clock with times of the API server, which uses real time. So the clock of the app must
      // show real time, too.
      app.pass((Date.now() - app.now().getTime()) / 1000 + 60);
      return { cluster, app };
    };
    await given?.(open());
    refused.length = 0;
    await done(open());
    await tidy(cluster);
    expect(refused).toEqual([]);
  },
);

test("every granted permission is used", () => {
  const rules = ["rbac.yaml", ...OPTIONAL].flatMap((file) => granted(readManifests(file)).flatMap(atoms));
  expect(rules.filter((rule) => !used.some((one) => isBy(one, rule))).map(nameOf)).toEqual([]);
});

/** Returns true if the account lacks the permission, or if the optional restriction refused the request. */
async function isRefused(answer: Response): Promise<boolean> {
  if (answer.status === 401 || answer.status === 403) return true;
  return answer.status === 422 && (await answer.clone().text()).includes("lifeboat-restriction");
}

interface Used {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
}

const VERBS: Readonly<Record<string, string>> = { POST: "create", PATCH: "patch", PUT: "update", DELETE: "delete" };

function usedBy(request: string): Used {
  const [method = "", path = ""] = request.split(" ");
  const [, group = "", rest = ""] =
    /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/(?=.))?(.*)$/.exec(path) ?? [];
  const [resource = "", name = "", ...within] = rest.split("/");
  const verb = VERBS[method] ?? (name === "" ? "list" : "get");
  return { verb, group, resource: [resource, ...within].join("/"), name };
}

/**
 * Returns true if the rule permits the request. A rule for `evacuate` counts for `evacuate/cancel`, which needs both
 * permissions.
 */
function isBy({ verb, group, resource, name }: Used, { verbs, apiGroups, resources, resourceNames }: Rule): boolean {
  const isOfResource = resources.some((one) => resource === one || resource.startsWith(`${one}/c`));
  const isNamed = resourceNames === undefined || resourceNames.includes(name);
  return isNamed && isOfResource && verbs.includes(verb) && apiGroups.includes(group);
}
