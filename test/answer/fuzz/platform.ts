/** WebCrypto of the platform, replaced by one that takes no time: so the same seed is the same run. */
import { createHash, createHmac } from "node:crypto";

export interface InstalledPlatform {
  /** Digests and signatures that were asked for: what it costs to find out who asks. */
  digests(): number;
  uninstall(): void;
}

function bytesOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

export function installPlatform(): InstalledPlatform {
  let digests = 0;
  const subtle = {
    async digest(_: unknown, data: Uint8Array) {
      digests += 1;
      return bytesOf(createHash("sha256").update(new Uint8Array(data)).digest());
    },
    importKey: async (_: unknown, key: Uint8Array) => key,
    async sign(_: unknown, key: Uint8Array, data: Uint8Array) {
      digests += 1;
      return bytesOf(createHmac("sha256", key).update(data).digest());
    },
    async verify(_: unknown, key: Uint8Array, signature: Uint8Array, data: Uint8Array) {
      digests += 1;
      return createHmac("sha256", key).update(data).digest().equals(new Uint8Array(signature));
    },
  };
  for (const [name, value] of Object.entries(subtle)) {
    Object.defineProperty(crypto.subtle, name, { value, configurable: true });
  }
  return {
    digests: () => digests,
    uninstall() {
      for (const name of Object.keys(subtle)) Reflect.deleteProperty(crypto.subtle, name);
    },
  };
}
