export { default } from "./shared.wasm";
