import { startTestIdentity } from '@fairlead/lab/testing/identity';
import { describe } from '@jest/globals';
import { askOver, realmIssuer, type TestIssuer } from './issuer.fixtures.js';
import { describeUserSignIn } from './users.features.js';

const startImitation = async (): Promise<TestIssuer> => {
  const identity = await startTestIdentity();
  const { issuerUrl, ca, clientId, clientSecret, stop } = identity;
  const adminToken = async (): Promise<string> => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const { text } = await askOver(ca, `${issuerUrl}/protocol/openid-connect/token`, { method: 'POST', form });
    return (JSON.parse(text) as { readonly access_token: string }).access_token;
  };
  return realmIssuer({ issuerUrl, ca, stop }, adminToken);
};

describe('with the imitation of Keycloak', () => describeUserSignIn(startImitation));
