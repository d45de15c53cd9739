import { describe, jest } from '@jest/globals';
import { describeUserSignIn } from '../../apps/gateway/src/auth/users.features.js';
import { describeKeycloak } from '../../apps/infra-svc/src/adapters/keycloak/keycloak.provider.features.js';
import { findKeycloak, startKeycloak, startKeycloakForClusters, type Keycloak } from '../system/keycloak.js';

jest.setTimeout(300_000);

const keycloak = await findKeycloak();
if ('reason' in keycloak) process.stderr.write(`\n!!! NOT CHECKED with Keycloak: ${keycloak.reason}\n\n`);
const when = 'reason' in keycloak ? describe.skip : describe;

when('with Keycloak', () => {
  describe('users of Fairlead', () => describeUserSignIn(() => startKeycloak(keycloak as Keycloak)));
  describe('clusters', () => describeKeycloak(() => startKeycloakForClusters(keycloak as Keycloak)));
});
