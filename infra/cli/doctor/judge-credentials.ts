/** Lifeboat's token of this cluster: its age, and whether the API server goes on accepting it. */
import { durationText } from "../../../shared/policy/duration-text.ts";
import { type Finding, judged, ok, warning } from "./check.ts";
import type { Facts } from "./facts.ts";
import { judgeCondition } from "./judge-conditions.ts";

const DAY_SECONDS = 86_400;
/** A token that has no end is replaced by hand; once a year is what most rules ask for. */
const OLD_DAYS = 365;
const ROTATE = 'infra/kubernetes/README.md, "Rotate"';

export function judgeCredentials({ secret, configuration, now }: Facts): readonly Finding[] {
  return [
    ...judged("Secret lifeboat-token", secret, (found) => {
      if (found === undefined) return ok("there is no Secret lifeboat-token: Lifeboat's token ends by itself");
      const seconds = (now.getTime() - Date.parse(found.createdAt)) / 1000;
      const said = `Lifeboat's token in Secret lifeboat-token is ${durationText(seconds)} old`;
      if (seconds <= OLD_DAYS * DAY_SECONDS) return ok(said);
      return warning(said, "it has no end: replace it once a year, or take one that ends by itself", ROTATE);
    }),
    ...("value" in configuration && configuration.value !== undefined
      ? [judgeCondition("CredentialsValid", configuration.value, now)]
      : []),
  ];
}
