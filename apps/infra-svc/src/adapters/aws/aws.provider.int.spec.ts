import { describe } from '@jest/globals';
import { describeAws } from './aws.features.js';
import { installedMoto, startMoto, type Moto } from './moto.fixtures.js';

const moto = installedMoto();
if ('reason' in moto) process.stderr.write(`\n!!! NOT CHECKED against a simulation of AWS: ${moto.reason}\n\n`);
const when = 'reason' in moto ? describe.skip : describe;

when('with moto', () => describeAws(() => startMoto(moto as Moto)));
