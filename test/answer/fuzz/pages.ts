/**
 * The pages for people, of a cluster whose objects hold markup: whatever it answers, a page is a page.
 */
import * as fc from "fast-check";
import { COOKIE, NODE_RIGHTS, signGrant, withGrant } from "../../../functions/page/session.ts";
import { VMS } from "../../support/generators/clusters.ts";
import { NAMESPACE } from "../../support/generators/objects.ts";
import { tokenOf } from "../../support/canned-cluster.ts";
import { often, usually } from "../../support/generators/often.ts";
import { NODE, NOW } from "../../support/fixtures.ts";
import { canaryIn, ENTRY, isStackTrace } from "./canaries.ts";
import { HostileCluster, hostility, SERVER } from "./cluster/hostile-cluster.ts";
import { hostileTexts, withHostileTexts } from "./hostile-terminal.ts";
import { openIsolate } from "./isolate.ts";
import type { Answer } from "./judge.ts";
import { installPlatform } from "./platform.ts";
import { type Property, property } from "./property.ts";
import { pathMutation } from "./requests/addresses.ts";
import { asCurl, type FuzzedRequest, type Header, ORIGIN } from "./requests/request.ts";
import { VirtualClock } from "../../support/clock.ts";
import { logProblems, unprinted } from "./visit.ts";

interface Route {
  readonly name: string;
  readonly paths: readonly string[];
  readonly codes: readonly number[];
}

const ACTS = ["evacuate", "cancel", "retry"];
const NODE_ACTS = ["empty", "pause", "resume", "cancel"];
const ANY = [200, 303, 401, 403, 404, 502, 503, 504];
const vms = (suffix = "") => VMS.map((vm) => `/fleet/prod/vms/${NAMESPACE}/${vm}${suffix}`);
/** One line a page; a new one needs no more. */
const ROUTES: readonly Route[] = [
  { name: "fleet", paths: ["/"], codes: ANY },
  {
    name: "signin",
    paths: ["/signin", "/signin?to=%2Ffleet%2Fprod", "/signin?to=%2F%2Fevil.example"],
    codes: [...ANY, 400, 413, 415],
  },
  { name: "signout", paths: ["/signout"], codes: [...ANY, 400, 413, 415] },
  { name: "cluster", paths: ["/fleet/prod", "/fleet/nowhere"], codes: ANY },
  { name: "node", paths: [`/fleet/prod/nodes/${NODE}`, "/fleet/prod/nodes/none"], codes: ANY },
  ...NODE_ACTS.map((act) => ({
    name: `node-${act}`,
    paths: [`/fleet/prod/nodes/${NODE}/${act}`, `/fleet/prod/nodes/none/${act}`],
    codes: [...ANY, 400, 409, 413, 415],
  })),
  { name: "vm", paths: vms(), codes: ANY },
  ...ACTS.map((act) => ({
    name: act,
    paths: vms(`/${act}`),
    codes: [...ANY, 400, 409, 413, 415],
  })),
];

const FORM = "application/x-www-form-urlencoded";
const request = fc.record({
  route: fc.constantFrom(...ROUTES),
  which: fc.nat(8),
  method: often("GET", "POST"),
  isSignedIn: often(true, false),
  mayAct: often(true, false),
  isOwn: often(true, false),
  body: fc.constantFrom(
    "",
    "confirm=yes",
    "whenBlocked=Restart&notBefore=2026-03-01T22:30",
    "uid=uid-of-kernel",
    "token=x&cluster=prod",
    `token=${tokenOf()}&cluster=prod&to=%2F`,
    "token=%ZZ&&=&token=a",
  ),
  bend: usually(
    fc.constant((path: string) => path),
    pathMutation,
    10,
  ),
  pause: fc.constantFrom(0, 1, 60),
});
type Asked = typeof request extends fc.Arbitrary<infer T> ? T : never;

async function cookieOf(mayAct: boolean): Promise<string> {
  const maintains = mayAct ? NODE_RIGHTS : [];
  const grant = {
    cluster: "prod",
    name: "operator",
    mayAct,
    maintains,
    until: Math.floor(NOW.getTime() / 1000) + 3600,
  };
  return `${COOKIE}=${withGrant(undefined, "prod", await signGrant(grant, { server: SERVER, ...ENTRY }))}`;
}

async function requestOf({
  route,
  which,
  method,
  isSignedIn,
  mayAct,
  isOwn,
  body,
  bend,
}: Asked): Promise<FuzzedRequest> {
  const path = bend(route.paths[which % route.paths.length] ?? "/");
  const headers: Header[] = [["accept", "text/html"]];
  if (isSignedIn) headers.push(["cookie", await cookieOf(mayAct)]);
  if (method === "GET") return { method, path, headers };
  return {
    method,
    path,
    headers: [...headers, ["content-type", FORM], ["origin", isOwn ? ORIGIN : "https://evil.example"]],
    body,
  };
}

const COOKIE_ATTRIBUTES = ["HttpOnly", "Secure", "SameSite=Strict"];
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

/** What must hold for every answer of a page; `code` is the route's own to say. */
export function pageProblems({ code, headers, text }: Answer, codes: readonly number[]): readonly string[] {
  const header = headersIn(headers);
  const [policy, cookie, type] = [header("content-security-policy"), header("set-cookie"), header("content-type")];
  const checks = [
    [!codes.includes(code), `answered ${code}`],
    [!/^text\/html\b/.test(type) && text !== "", `no page: ${type}`],
    [
      !POLICY.every((one) => policy.includes(one)) || policy.includes("unsafe"),
      `a policy that is not strict: ${policy}`,
    ],
    [(canaryIn(text) ?? canaryIn(headers)) !== undefined, "tells a secret"],
    [isStackTrace(text), "has a stack trace"],
    [/<img src=x|<script>/.test(text), "markup of another party's"],
    [cookie !== "" && !COOKIE_ATTRIBUTES.every((one) => cookie.includes(one)), `a cookie for others: ${cookie}`],
    [!/^\/(?!\/)/.test(header("location") || "/"), `leads away: ${header("location")}`],
  ] as const;
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

function headersIn(headers: string): (name: string) => string {
  const all = headers
    .split("\n")
    .map((line) => [line.split(": ")[0] ?? "", line.slice(line.indexOf(": ") + 2)] as const);
  return (wanted) => all.find(([name]) => name === wanted)?.[1] ?? "";
}

const visit = fc
  .record({ hostility, hostileTexts, requests: fc.array(request, { minLength: 3, maxLength: 3 }) })
  .map((drawn) => ({ ...drawn, ...unprinted }));

async function visitPages({
  hostility: drawn,
  hostileTexts: texts,
  requests,
}: typeof visit extends fc.Arbitrary<infer T> ? T : never) {
  const clock = new VirtualClock(NOW);
  const platform = installPlatform();
  try {
    const cluster = new HostileCluster(drawn, clock);
    const clusters = JSON.stringify({ prod: { server: SERVER, ...ENTRY } });
    const isolate = openIsolate({ fetch: withHostileTexts(cluster.fetch, texts) }, clock, {
      clusters,
      registryFails: false,
    });
    const outcomes: string[] = [];
    for (const [index, asked] of requests.entries()) {
      const sent = await requestOf(asked);
      const answering = isolate.send(sent, index);
      if (!(await clock.settle([answering]))) throw new Error(`never answered\n${asCurl(sent)}`);
      const answer = await answering;
      const isBent = sent.path !== asked.route.paths[asked.which % asked.route.paths.length];
      const wrote = sent.method === "GET" && cluster.asked.find((one) => one.origin === index && one.write)?.request;
      const problems = [
        ...(isBent
          ? []
          : pageProblems(answer, asked.method === "GET" ? asked.route.codes : [...asked.route.codes, 404])),
        ...(typeof wrote === "string" ? [`changed the cluster by ${wrote}`] : []),
        ...cluster.problems,
        ...isolate.log.flatMap((line) => logProblems(JSON.stringify(line))),
      ];
      if (problems.length > 0)
        throw new Error(
          `${problems.join("\n")}\n${asCurl(sent)}\n→ ${answer.code}\n${answer.headers}\n${answer.text.slice(0, 3000)}`,
        );
      outcomes.push(`page:${asked.route.name} ${answer.code}`);
      clock.pass(asked.pause);
    }
    await clock.settle(isolate.after);
    return outcomes;
  } finally {
    platform.uninstall();
  }
}

export const PAGES: Property = property("every page keeps the contract", visit, visitPages, [
  ...ROUTES.filter(({ name }) => !["fleet", "signout", ...ACTS].includes(name) && !name.startsWith("node-")).map(
    ({ name }) => `page:${name} 200`,
  ),
  ...[...ACTS, ...NODE_ACTS.map((act) => `node-${act}`)].map((name) => `page:${name} 303`),
]);
