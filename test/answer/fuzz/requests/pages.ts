/** What a visitor of the page asks for, signed in or not, from there or from another site. */
import * as fc from "fast-check";
import { COOKIE, NODE_RIGHTS, signGrant, withGrant } from "../../../../functions/page/session.ts";
import { tokenOf } from "../../../support/canned-cluster.ts";
import { NODE, NOW } from "../../../support/fixtures.ts";
import { VMS } from "../../../support/generators/clusters.ts";
import { NAMESPACE } from "../../../support/generators/objects.ts";
import { often } from "../../../support/generators/often.ts";
import { ENTRY } from "../canaries.ts";
import { SERVER } from "../cluster/hostile-cluster.ts";
import { type FuzzedRequest, type Header, ORIGIN } from "./request.ts";

async function cookieOf(mayAct: boolean): Promise<string> {
  const until = Math.floor(NOW.getTime() / 1000) + 3600;
  const grant = { cluster: "prod", name: "operator", mayAct, maintains: mayAct ? NODE_RIGHTS : [], until };
  return `${COOKIE}=${withGrant(undefined, "prod", await signGrant(grant, { server: SERVER, ...ENTRY }))}`;
}

const [ACTING, READING] = [await cookieOf(true), await cookieOf(false)];

const OTHER = [
  "/",
  "/signin",
  "/signin?to=%2F%2Fevil.example",
  "/fleet/prod",
  "/fleet/nowhere",
  "/fleet/prod/nodes/none",
];
const NODE_PAGE = `/fleet/prod/nodes/${NODE}`;
const NODE_ACTS = ["empty", "pause", "resume", "cancel"].map((act) => `${NODE_PAGE}/${act}`);
const vmPages = VMS.map((name) => `/fleet/prod/vms/${NAMESPACE}/${name}`);
const vmActs = vmPages.flatMap((page) => ["evacuate", "cancel", "retry"].map((act) => `${page}/${act}`));

const BODIES = [
  "",
  "confirm=yes",
  "whenBlocked=Restart&notBefore=2026-03-01T22:30",
  "uid=uid-of-kernel",
  "token=x&cluster=prod",
  "token=%ZZ&&=&token=a",
];

const read = fc.constantFrom(...OTHER, NODE_PAGE, ...vmPages);
const act = fc.tuple(fc.constantFrom(...NODE_ACTS, ...vmActs, "/signin", "/signout"), fc.constantFrom(...BODIES));
const signIn = fc.constant(["/signin", `token=${tokenOf()}&cluster=prod&to=%2F`] as const);
const form: fc.Arbitrary<readonly Header[]> = often<string>(ORIGIN, "https://evil.example").map((origin) => [
  ["content-type", "application/x-www-form-urlencoded"],
  ["origin", origin],
]);

const asked: fc.Arbitrary<FuzzedRequest> = fc.oneof(
  read.map((path) => ({ method: "GET", path, headers: [] })),
  fc
    .tuple(fc.oneof({ weight: 5, arbitrary: act }, { weight: 1, arbitrary: signIn }), form)
    .map(([[path, body], headers]) => ({ method: "POST", path, headers, body })),
);

export const pageRequest: fc.Arbitrary<FuzzedRequest> = fc
  .tuple(asked, often<string | undefined>(ACTING, READING, undefined))
  .map(([request, cookie]) => {
    const visitor: readonly Header[] = cookie === undefined ? [] : [["cookie", cookie]];
    return { ...request, headers: [["accept", "text/html"], ...request.headers, ...visitor] };
  });
