/** What is shown instead of a page, and to whom. */
import { expect, test } from "vitest";
import { COOKIE, signGrant, withGrant } from "../../../functions/page/session.ts";
import { entry, NOW, openDoors, TOKENS } from "../../support/doors.ts";
import { words } from "./support/fake-visit.ts";

const NOWHERE = "http://127.0.0.1:1";
const CLUSTERS = { prod: entry(NOWHERE), staging: entry(NOWHERE), unbound: entry("binding:NONE"), bad: { server: 1 } };
const UNTIL = Math.floor(NOW.getTime() / 1000) + 3600;

async function grantsFor(...clusters: readonly string[]): Promise<string> {
  let cookie: string | undefined;
  for (const cluster of clusters) {
    const grant = { cluster, name: "operator", mayAct: true, until: UNTIL };
    const signer = { server: "", token: "", webhookToken: TOKENS.webhookToken, operatorToken: TOKENS.operatorToken };
    cookie = withGrant(cookie, cluster, await signGrant(grant, { ...signer, headers: {} }));
  }
  return cookie ?? "";
}

const cookieFor = async (...clusters: readonly string[]) => `${COOKIE}=${await grantsFor(...clusters)}`;

const doors = openDoors({ CLUSTERS });

async function visit(path: string, clusters: readonly string[], accept = "text/html") {
  return await doors.request(path, { headers: { accept, cookie: await cookieFor(...clusters) } });
}

test("given no such page, a page says so", async () => {
  const answer = await visit("/fleet/prod/nodes", ["prod"]);
  expect(answer).toMatchObject({ code: 404, contentType: "text/html; charset=UTF-8" });
  expect(words(answer.text)).toContain("No such page");
});

test("the fleet shows the clusters that the cookie opens, and no others", async () => {
  const forged = `${await cookieFor("prod", "staging", "unbound")}~${btoa(JSON.stringify(["bad", "x", true, UNTIL]))}.x`;
  const { code, text } = await doors.request("/", { headers: { accept: "text/html", cookie: forged } });
  expect(code).toBe(200);
  expect(words(text)).toContain("2 clusters cannot be reached.");
  expect(text).toContain('href="/fleet/prod"');
  expect(text).toContain('href="/fleet/staging"');
  expect(text).not.toContain('href="/fleet/unbound"');
});
