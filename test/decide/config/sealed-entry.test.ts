/** Tests the encrypted entries of the registry: which key decrypts an entry, and the error without this key. */
import { describe, expect, test } from "vitest";
import { parseKeys, seal, unseal } from "../../../shared/settings/sealed-entry.ts";

type Key = Uint8Array<ArrayBuffer>;

const newKey = () => crypto.getRandomValues(new Uint8Array(32));
const [ours, older, foreign] = [newKey(), newKey(), newKey()];
const base64 = (key: Uint8Array) => Buffer.from(key).toString("base64");

const ENTRY = JSON.stringify({ server: "https://api.example.com", token: "größer als ASCII" });
const NOT_SEALED = "expected an encrypted entry, as `npm run cluster -- add` writes it";
const NOT_OURS = "expected an entry that was encrypted for the cluster of this name, with a key of REGISTRY_KEY";

describe("a sealed entry", () => {
  // prettier-ignore
  test.each<[string, Key, readonly Key[], string, string | undefined]>([
    //                                                 sealed with  keys           asked for  gives
    ["opens with an older key while keys are rotated", older,       [ours, older], "prod",    ENTRY],
    ["does not open with another key",                 ours,        [older],       "prod",    undefined],
    ["does not open as another cluster's entry",       ours,        [ours],        "other",   undefined],
  ])("%s", async (...[, key, keys, asked, text]) => {
    const opened = await unseal(await seal(ENTRY, "prod", key), asked, keys);
    const refused = { ok: false, problems: [{ field: `CLUSTER_REGISTRY.${asked}`, message: NOT_OURS }] };
    expect(opened).toEqual(text === undefined ? refused : { ok: true, value: text });
  });

  test("differs each time, and hides its content", async () => {
    const [one, two] = [await seal(ENTRY, "prod", ours), await seal(ENTRY, "prod", ours)];
    expect(one).not.toBe(two);
    expect(one).toMatch(/^v1\.[\w-]{16}\.[\w-]+$/);
    const ciphertext = Buffer.from(one.split(".")[2] ?? "", "base64url");
    expect(ciphertext.toString("latin1")).not.toContain("example");
    // The ciphertext reveals only the length of the entry.
    expect(ciphertext).toHaveLength(Buffer.byteLength(ENTRY) + 16);
  });

  test("with one changed byte is refused", async () => {
    const [version, nonce, text = ""] = (await seal(ENTRY, "prod", ours)).split(".");
    const changed = [version, nonce, (text.startsWith("A") ? "B" : "A") + text.slice(1)].join(".");
    expect(await unseal(changed, "prod", [ours])).toMatchObject({ ok: false, problems: [{ message: NOT_OURS }] });
  });

  test.each([
    ["in plain text", ENTRY],
    ["of another version", "v2.AAAAAAAAAAAAAAAA.AAAA"],
    ["that is not base64", "v1.AAAAAAAAAAAAAAAA.A"],
  ])("%s is refused, and the problem does not repeat the text", async (_, text) => {
    const problems = [{ field: "CLUSTER_REGISTRY.prod", message: NOT_SEALED }];
    expect(await unseal(text, "prod", [ours])).toEqual({ ok: false, problems });
  });
});

describe("the variable REGISTRY_KEY", () => {
  test.each([
    ["may hold one key", base64(ours), [ours]],
    ["may hold two keys", `${base64(ours)}, ${base64(foreign)}`, [ours, foreign]],
    ["is required", undefined, undefined],
    ["is refused if a key is too short", base64(ours.subarray(1)), undefined],
  ])("%s", (_, text, keys) => {
    const message = "expected one or more keys of 32 bytes in base64, separated by commas";
    const refused = { ok: false, problems: [{ field: "REGISTRY_KEY", message }] };
    expect(parseKeys(text)).toEqual(keys === undefined ? refused : { ok: true, value: keys });
  });
});
