/** Entries of `CLUSTERS` and of the registry at the edge of what is accepted: secrets a byte too short, headers that are almost others. */
import * as fc from "fast-check";

const secret = (least: number, most: number) =>
  fc.uint8Array({ minLength: least, maxLength: most }).map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`);
const token = fc.stringMatching(/^[!-~]{16,20}$/);
const badToken = fc.oneof(
  fc.stringMatching(/^[!-~]{0,15}$/),
  fc.stringMatching(/^[!-~]{15}$/),
  fc.stringMatching(/^[!-~]{8} [!-~]{8}$/),
  fc.stringMatching(/^[!-~]{16}[\n\u00e9\u{1f4a5}]$/u),
);
const headersCalled = (...names: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...names), fc.string({ unit: "grapheme-ascii" }), { minKeys: 1, maxKeys: 1 });

const usual = fc.record(
  {
    server: fc.constantFrom("https://api.example.com", "http://[::1]:8001/k8s", "binding:PROD"),
    token,
    webhookToken: fc.oneof(token, fc.array(token, { minLength: 1, maxLength: 2 })),
    operatorToken: token,
    relaySecret: fc.oneof(secret(24, 64), fc.array(secret(24, 64), { minLength: 1, maxLength: 2 })),
    headers: headersCalled("x-access", "CF-Access-Client-Id", "__proto__", "x-impersonate-user"),
  },
  { requiredKeys: ["server", "token", "webhookToken"] },
);
const odd = fc.oneof(
  fc.record({
    server: fc.constantFrom(
      "http://127.0.0.1.example.com",
      "https://a@b",
      "https://a?",
      "https://a#",
      "https:a",
      "ftp://a",
    ),
  }),
  ...["token", "webhookToken", "operatorToken"].map((key) => badToken.map((value) => ({ [key]: value }))),
  fc.record({ relaySecret: fc.oneof(secret(22, 23), secret(65, 66), fc.array(secret(0, 24))) }),
  fc.record({
    headers: headersCalled("AUTHORIZATION", "Accept", "content-Type", "user-agent", "Impersonate-Extra-a", "x y"),
  }),
);

/** Usual, but for a key now and then. */
export const entry = fc.tuple(usual, fc.option(odd, { nil: {} })).map(([fits, one]): object => ({ ...fits, ...one }));
