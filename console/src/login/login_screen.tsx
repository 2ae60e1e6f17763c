// Login. (Being written.)

import { useTitle } from "../ui/title.ts";

export function LoginScreen() {
  useTitle("Login");
  return <h1>Login</h1>;
}
