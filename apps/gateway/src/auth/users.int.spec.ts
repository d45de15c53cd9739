import { startTestIssuer } from '@fairlead/lab/testing/issuer';
import { describe } from '@jest/globals';
import { describeUserSignIn } from './users.features.js';

describe('with the imitation of Keycloak', () => describeUserSignIn(startTestIssuer));
