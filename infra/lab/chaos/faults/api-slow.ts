import { USERS } from "../../../sandbox/index.ts";
import { type Fault, injectEffect, LIFEBOAT } from "../fault.ts";

/** Without the admin, who looks on, and virt-api, whose webhook allows an eviction when it cannot read the pod. */
const EVERYBODY = [
  ...LIFEBOAT,
  ...Object.values(USERS)
    .map(({ user }) => user)
    .filter((user) => user !== USERS.admin.user && user !== USERS.virtApi.user),
];

export const apiSlow: Fault = {
  says: "the API server answers late, to Lifeboat or to all its clients",
  weight: 5,
  simulated: true,
  inject(run, draw) {
    const users = draw.chance(0.7) ? LIFEBOAT : EVERYBODY;
    injectEffect(run, { type: "Latency", milliseconds: draw.int(20, 300) }, draw.int(10, 70) / 100, { users });
  },
};
