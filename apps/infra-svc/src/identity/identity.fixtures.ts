import {
  declaredOf,
  realmSecretRef,
  type DeclaredOidc,
  type Fact,
  type Namespace,
  type RealmName,
} from '@fairlead/contracts';
import { clusterSpec, UID } from '../../test/fixtures.js';

/** The client of the cluster of the fixtures. */
export const CLIENT = 'kube-default.demo';

const CLAIMS = { usernameClaim: 'sub', usernamePrefix: 'oidc:', groupsClaim: 'groups', groupsPrefix: 'oidc:' };

/** null: users do not sign in with OpenID Connect. */
export const declared = (oidc: Partial<DeclaredOidc> | null, revision = 1, others: object = {}): Fact => ({
  type: 'ClusterSpecChanged',
  data: {
    uid: UID,
    revision,
    spec: {
      ...declaredOf(clusterSpec()),
      ...others,
      ...(oidc === null ? {} : { authentication: { oidc: { ...CLAIMS, ...oidc } } }),
    },
  },
});

export const realm = (name: string, changes: object = {}): Fact<'RealmRegistered'> => ({
  type: 'RealmRegistered',
  data: {
    name: 'default' as Namespace,
    realm: name as RealmName,
    provider: 'keycloak',
    issuerUrl: `https://id.example.org/realms/${name}`,
    clientId: 'fairlead',
    secretRef: realmSecretRef('default', name),
    ...changes,
  },
});

export const named = (name: string): Partial<DeclaredOidc> => ({ realm: name as RealmName });
