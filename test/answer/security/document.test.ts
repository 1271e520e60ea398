/** Tests that SECURITY.md and the permissions that `lifeboat doctor` checks match their sources. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { NEEDS, RELAYS_NEEDS, SERVERS_NEEDS } from "../../support/manifests/least-privilege.ts";
import { atoms, granted, nameOf, readManifests } from "../../support/manifests/shipped.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, "utf8");

const ALL_NEEDS = [...NEEDS, ...RELAYS_NEEDS, ...SERVERS_NEEDS];

function permissionsOfAccounts() {
  return [...new Set(ALL_NEEDS.map(({ file }) => file))].flatMap((file) =>
    granted(readManifests(`../${file}`)).flatMap((role) =>
      atoms(role).map((rule) => {
        const { apiGroups, resources, resourceNames, verbs } = rule;
        const { namespace = "" } = role.metadata;
        const what = { verb: verbs[0], group: apiGroups[0], resource: resources[0], name: resourceNames?.[0] ?? "" };
        const needs = ALL_NEEDS.filter((need) => need.file === file && need.permission === nameOf(rule));
        return { file, namespace, ...what, without: needs.map(({ without }) => without).join("; ") };
      }),
    ),
  );
}

test("infra/cli/doctor/permissions.json lists exactly the permissions of the shipped roles", async () => {
  const text = `[\n${permissionsOfAccounts()
    .map((row) => `  ${JSON.stringify(row)}`)
    .join(",\n")}\n]\n`;
  const how =
    "permissions have changed: `npx vitest run test/answer/security/document.test.ts -u` writes the file anew";
  await expect(text, how).toMatchFileSnapshot("../../../infra/cli/doctor/permissions.json");
});

test("invocation logs are off, because they would contain paths, which can contain a token", () => {
  expect(read("wrangler.toml")).toMatch(/\[observability\.logs\]\nenabled = true\ninvocation_logs = false\n/);
});
