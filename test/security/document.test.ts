/** SECURITY.md against what it relies on: the tests in EVIDENCE.md, the permissions in PERMISSIONS.md, the Worker's settings. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { code, renderTable } from "../../infra/tools/docs/policy/tables.ts";
import { NEEDS, RELAYS_NEEDS, SERVERS_NEEDS, SERVERS_WATCHES } from "../manifests/least-privilege.ts";
import { atoms, granted, nameOf, readManifests } from "../manifests/shipped.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, "utf8");
const security = read("SECURITY.md");
const evidence = read("test/security/EVIDENCE.md");

/** `- [name](../….test.ts): “title”, “title”`. */
const named = [...evidence.matchAll(/^- \[.*?\]\(\.\.\/(.*?)\)(.*)$/gm)].map(([, file = "", titles = ""]) => ({
  file: `test/${file}`,
  titles: [...titles.matchAll(/“([^”]+)”/g)].map(([, title = ""]) => title),
}));

test.each(named)("EVIDENCE.md names tests of $file", ({ file, titles }) => {
  expect(existsSync(`${root}${file}`)).toBe(true);
  const source = read(file);
  expect(titles.filter((title) => !source.includes(title))).toEqual([]);
});

test("EVIDENCE.md is about statements of SECURITY.md", () => {
  const statements = [...evidence.matchAll(/^\*\*(?:\d+\. )?(.*)\*\*$/gm)].map(([, statement = ""]) => statement);
  expect(statements.length).toBeGreaterThan(25);
  expect(statements.filter((statement) => !new RegExp(`(\\*\\*|## )${statement}`).test(security))).toEqual([]);
});

test("SECURITY.md answers the eighteen threats", () => {
  const numbers = [...security.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: 18 }, (_, i) => i + 1));
});

const ALL_NEEDS = [...NEEDS, ...RELAYS_NEEDS, ...SERVERS_NEEDS, ...SERVERS_WATCHES];

const PERMISSIONS = `# Permissions

What stops working without each permission of each role, by the file in \`infra\` that grants it. Tests
([Lifeboat](../../test/manifests/least-privilege.test.ts), [the relay](../../test/relay/permissions.test.ts),
[the server in the cluster](../../test/server/permissions.test.ts)) take each permission away and see exactly that; with all of them, nothing is
refused.
This page is rendered: \`npx vitest run test/security/document.test.ts -u\`.
`;

function renderPermissions(): string {
  const tables = Map.groupBy(ALL_NEEDS, ({ file }) => file);
  const sections = [...tables].map(([file, needs]) => {
    const rows = needs.map(({ permission, without }) => [code(permission), without]);
    return `\n## ${file}\n\n${renderTable([["permission", "without it"], ...rows])}\n`;
  });
  return [PERMISSIONS, ...sections].join("");
}

test("infra/kubernetes/PERMISSIONS.md is rendered from what is tested", async () => {
  const how =
    "permissions have changed: `npx vitest run test/security/document.test.ts -u` renders PERMISSIONS.md anew";
  await expect(renderPermissions(), how).toMatchFileSnapshot("../../infra/kubernetes/PERMISSIONS.md");
});

/** For `lifeboat doctor`, which asks for each. */
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

test("infra/cli/doctor/permissions.json is what the shipped roles grant", async () => {
  const text = `[\n${permissionsOfAccounts()
    .map((row) => `  ${JSON.stringify(row)}`)
    .join(",\n")}\n]\n`;
  const how = "permissions have changed: `npx vitest run test/security/document.test.ts -u` writes the file anew";
  await expect(text, how).toMatchFileSnapshot("../../infra/cli/doctor/permissions.json");
});

test("invocation logs are off: they would hold paths, and paths may hold a token", () => {
  expect(read("wrangler.toml")).toMatch(/\[observability\.logs\]\nenabled = true\ninvocation_logs = false\n/);
});
