/** What is wrong with the variables that say which Cloudflare Access to believe. */
import type { ConfigProblem } from "../shared/config/problem.ts";
import type { Env } from "./env.ts";

export function accessProblems({ ACCESS_TEAM_DOMAIN, ACCESS_AUD }: Env): readonly ConfigProblem[] {
  if (ACCESS_TEAM_DOMAIN === undefined && ACCESS_AUD === undefined) return [];
  return [
    ...(/^[a-z0-9-]+\.cloudflareaccess\.com$/.test(ACCESS_TEAM_DOMAIN ?? "")
      ? []
      : [{ field: "ACCESS_TEAM_DOMAIN", message: "expected TEAM.cloudflareaccess.com, beside ACCESS_AUD" }]),
    ...(/^[0-9a-f]{64}$/.test(ACCESS_AUD ?? "")
      ? []
      : [
          {
            field: "ACCESS_AUD",
            message: "expected the application's AUD tag, 64 hex digits, beside ACCESS_TEAM_DOMAIN",
          },
        ]),
  ];
}
