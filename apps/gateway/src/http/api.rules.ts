/** In what a route differs below CB-Ladybug's base. Deciders know these rules, not which API a request came by. */
export interface ApiRules {
  /** A cluster whose creation failed is deleted and created again when it is requested again. */
  readonly recreatesFailed: boolean;
  /** The initial control plane cannot be removed. */
  readonly keepsInitialControlPlane: boolean;
  /** A removal may leave an even number of control planes, and its answer does not name them. */
  readonly allowsEven: boolean;
}

const OWN: ApiRules = { recreatesFailed: false, keepsInitialControlPlane: false, allowsEven: false };
const LADYBUG: ApiRules = { recreatesFailed: true, keepsInitialControlPlane: true, allowsEven: true };

export const apiRules = (isLadybug: boolean): ApiRules => (isLadybug ? LADYBUG : OWN);
