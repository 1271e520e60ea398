import type { Fault } from "../fault.ts";

export const severalReplicas: Fault = {
  says: "several Workers at once: evictions, reconciles and cron ticks reach different ones",
  weight: 6,
  form: "Worker",
};
