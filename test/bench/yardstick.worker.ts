import { parentPort, workerData } from 'node:worker_threads';
import { doWork, type Identity } from './yardstick.work.js';

parentPort?.postMessage(await doWork(workerData as Identity));
