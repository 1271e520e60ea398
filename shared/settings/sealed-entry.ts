/**
 * Encrypts values of `CLUSTER_REGISTRY` with AES-256-GCM. The name of the cluster is authenticated, so that an entry
 * cannot be used for another cluster.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import type { Parsed } from "./problem.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

/** The format is `v1.<nonce>.<ciphertext>`. Both parts are base64url. */
const SEALED = /^v1\.([\w-]{16})\.([\w-]+)$/;
const NONCE_BYTES = 12;
const KEY_BYTES = 32;

/**
 * Parses base64 keys of 32 bytes, separated by commas. Lifeboat encrypts with the first key, and can decrypt with any
 * of them.
 */
export function parseKeys(text: string | undefined): Parsed<readonly Uint8Array<ArrayBuffer>[]> {
  const keys = (text ?? "").split(",").map((one) => bytesOf(one.trim()));
  const isValid = keys.every((key) => key?.length === KEY_BYTES);
  if (isValid) return { ok: true, value: keys.filter((key) => key !== undefined) };
  return { ok: false, problems: [{ field: "REGISTRY_KEY", message: MESSAGES.registryKeys }] };
}

export async function seal(text: string, name: string, key: Uint8Array<ArrayBuffer>): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt(algorithm(iv, name), await imported(key), new TextEncoder().encode(text));
  return `v1.${encodeBase64Url(iv.buffer)}.${encodeBase64Url(sealed).replaceAll("=", "")}`;
}

/** Returns the decrypted text. It must have been encrypted for this name with one of the keys. */
export async function unseal(
  sealed: string,
  name: string,
  keys: readonly Uint8Array<ArrayBuffer>[],
): Promise<Parsed<string>> {
  const [, nonce = "", ciphertext = ""] = SEALED.exec(sealed) ?? [];
  const [iv, data] = [bytesOf(nonce), bytesOf(ciphertext)];
  if (iv?.length !== NONCE_BYTES || data === undefined) {
    return failed(name, MESSAGES.sealedEntry);
  }
  for (const key of keys) {
    const text = await decrypted(data, algorithm(iv, name), key);
    if (text !== undefined) return { ok: true, value: text };
  }
  return failed(name, MESSAGES.entryOfName);
}

async function decrypted(
  data: Uint8Array<ArrayBuffer>,
  by: ReturnType<typeof algorithm>,
  key: Uint8Array<ArrayBuffer>,
) {
  try {
    return new TextDecoder().decode(await crypto.subtle.decrypt(by, await imported(key), data));
  } catch {
    return undefined;
  }
}

function failed(name: string, message: string): Parsed<never> {
  return { ok: false, problems: [{ field: `CLUSTER_REGISTRY.${name}`, message }] };
}

function algorithm(iv: Uint8Array<ArrayBuffer>, name: string) {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(`CLUSTER_REGISTRY.${name}`) };
}

function imported(key: Uint8Array<ArrayBuffer>) {
  return crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64Url(text);
  } catch {
    return undefined;
  }
}
