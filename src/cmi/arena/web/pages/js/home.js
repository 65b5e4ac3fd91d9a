// The page for someone who is not signed in.
import { startPage } from "./header.js";

startPage();
