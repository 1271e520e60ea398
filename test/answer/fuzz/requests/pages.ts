/** Draws requests to the page, with and without a sign-in. Other sites send some of these requests. */
import * as fc from "fast-check";
import { COOKIE, signGrant, withGrant } from "../../../../functions/page/session.ts";
import { tokenOf } from "../../../support/cluster/tokens.ts";
import { NODE, NOW } from "../../../support/fixtures.ts";
import { VMS } from "../../../support/generators/clusters.ts";
import { NAMESPACE } from "../../../support/generators/objects.ts";
import { often } from "../../../support/generators/often.ts";
import { ENTRY } from "../canaries.ts";
import { SERVER } from "../cluster/hostile-cluster.ts";
import { type FuzzedRequest, type Header, ORIGIN } from "./request.ts";

const until = Math.floor(NOW.getTime() / 1000) + 3600;
const grant = await signGrant({ cluster: "prod", name: "operator", until }, { server: SERVER, ...ENTRY });
export const SIGNED_IN = `${COOKIE}=${withGrant(undefined, "prod", grant)}`;

const OTHER = [
  "/",
  "/signin",
  "/signin?to=%2F%2Fevil.example",
  "/fleet/prod",
  "/fleet/nowhere",
  "/fleet/prod/nodes/none",
  "/fleet/prod/nodeevacuations/kernel",
];
const NODE_PAGE = `/fleet/prod/nodes/${NODE}`;
const vmPages = VMS.map((name) => `/fleet/prod/vms/${NAMESPACE}/${name}`);

const BODIES = ["", "token=x&cluster=prod", "token=%ZZ&&=&token=a"];

const read = fc.constantFrom(...OTHER, NODE_PAGE, ...vmPages);
const sent = fc.tuple(fc.constantFrom("/signin", "/signout", NODE_PAGE, ...vmPages), fc.constantFrom(...BODIES));
const signIn = fc.constant(["/signin", `token=${tokenOf()}&cluster=prod&to=%2F`] as const);
const form: fc.Arbitrary<readonly Header[]> = often<string>(ORIGIN, "https://evil.example").map((origin) => [
  ["content-type", "application/x-www-form-urlencoded"],
  ["origin", origin],
]);

const asked: fc.Arbitrary<FuzzedRequest> = fc.oneof(
  read.map((path) => ({ method: "GET", path, headers: [] })),
  fc
    .tuple(fc.oneof({ weight: 5, arbitrary: sent }, { weight: 1, arbitrary: signIn }), form)
    .map(([[path, body], headers]) => ({ method: "POST", path, headers, body })),
);

export const pageRequest: fc.Arbitrary<FuzzedRequest> = fc
  .tuple(asked, often<string | undefined>(SIGNED_IN, undefined))
  .map(([request, cookie]) => {
    const visitor: readonly Header[] = cookie === undefined ? [] : [["cookie", cookie]];
    return { ...request, headers: [["accept", "text/html"], ...request.headers, ...visitor] };
  });
