import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import 'reflect-metadata';
import type * as z from 'zod';
import { readSettings } from '../config.js';
import { gatewayModule } from '../gateway.module.js';

type Class = new (...args: never[]) => object;
const controllers = Reflect.getMetadata('controllers', gatewayModule(readSettings({}))) as readonly Class[];

/** Every schema at a parameter of a route, by its place; with `kind`, only those of that kind. */
export const requestSchemas = (kind?: RouteParamtypes): ReadonlyMap<string, z.ZodType> => {
  const found = new Map<string, z.ZodType>();
  for (const controller of controllers) {
    for (const method of Object.getOwnPropertyNames(controller.prototype)) {
      const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) as
        Readonly<Record<string, { readonly schema?: z.ZodType }>> | undefined;
      Object.entries(args ?? {}).forEach(([index, { schema }]) => {
        const [type, position = ''] = index.split(':');
        if (schema === undefined || (kind !== undefined && Number(type) !== kind)) return;
        found.set(`${controller.name}.${method} ${position}`, schema);
      });
    }
  }
  return found;
};
